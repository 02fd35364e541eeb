"""boto.py ENDPOINT BUCKET FILE…: uploads files with boto3's transfer manager, as `aws s3 cp` does, in its usual settings."""
import pathlib
import sys

import boto3
from s3transfer.manager import TransferManager

endpoint, bucket, *files = sys.argv[1:]
with TransferManager(boto3.client("s3", endpoint_url=endpoint)) as manager:
    futures = [manager.upload(file, bucket, f"files/{pathlib.Path(file).name}") for file in files]
    for future in futures:
        future.result()
