"""The first request for a link goes unheard, and the central asks again: `unheard_request.py restarts|lost`.

With `restarts` the phone switches its advertising off and on when the request is on its way, as BlueZ does when another
central leaves; with `lost` nothing arrives. Exit code and last line are the central's.
"""
import asyncio
import sys

from peer_pair import pair  # puts the peers on the path

from bumble import ll
from bumble.controller import Controller

from radiolab import Lab


def one_unheard(lab: Lab) -> None:
    send = lab.air.send_advertising_pdu

    def send_all_but_one(sender: Controller, packet: ll.AdvertisingPdu) -> None:
        if not isinstance(packet, ll.ConnectInd):
            send(sender, packet)
            return
        lab.air.send_advertising_pdu = send
        if sys.argv[1] == "restarts":
            advertiser = lab.air.find_le_controller(packet.advertiser_address).le_legacy_advertiser
            advertiser.stop()
            asyncio.get_running_loop().call_later(0.01, advertiser.start)
            send(sender, packet)

    lab.air.send_advertising_pdu = send_all_but_one


if __name__ == "__main__":
    sys.exit(asyncio.run(pair([], ["--prompt", "hello"], one_unheard)))
