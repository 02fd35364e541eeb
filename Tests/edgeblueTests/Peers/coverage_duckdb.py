"""coverage_duckdb.py PAGE FOLDER DATE: runs each block of SQL in a page with DuckDB, and prints the rows as JSON.

FOLDER stands for the server: it has a folder for each bucket. DATE takes the place of the date in the page.
"""
import json
import pathlib
import re
import sys

import duckdb

page, folder, date = sys.argv[1:]
blocks = re.findall(r"```sql\n(.*?)```", pathlib.Path(page).read_text(encoding="utf-8"), re.DOTALL)
connection = duckdb.connect()
# What is not in the text of the queries is not looked for.
for block in blocks:
    text = block.replace("s3://", folder + "/")
    text = re.sub(r"date=\d{4}-\d{2}-\d{2}", f"date={date}", text)
    rows = connection.execute(text).fetchall()
    if not block.startswith("SET"):
        print(json.dumps(rows))
