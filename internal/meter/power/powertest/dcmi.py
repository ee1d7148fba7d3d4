"""A management controller that has DCMI's power reading, from a file.

usage: dcmi.py PORT USER PASSWORD FILE
"""
import struct
import sys

import pyghmi.ipmi.bmc as bmc

GROUP = 0xdc
ACTIVE = 0x40


class Bmc(bmc.Bmc):
    def handle_raw_request(self, request, session):
        if request['netfn'] != 0x2c or request['command'] != 2:
            return super().handle_raw_request(request, session)
        with open(sys.argv[4]) as f:
            text = f.read().strip()
        if text == 'silent':
            return None
        if text == 'nonsense':
            return session.send_ipmi_response(data=[GROUP, 1])
        watts, state = (0, 0) if text == 'off' else (int(text), ACTIVE)
        answer = struct.pack('<BHHHHIIB', GROUP, watts, watts, watts, watts, 0, 1000, state)
        return session.send_ipmi_response(data=list(answer))


Bmc({sys.argv[2]: sys.argv[3]}, port=int(sys.argv[1]), address='127.0.0.1').listen()
