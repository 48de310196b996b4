"""The address at which students join: one that phones reach, or what to do so that they reach one."""

import socket
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host
from django.urls import reverse

from kubesched_ui.live_classes.models import LiveClass
from kubesched_ui.runtime import env

ALL_ADDRESSES = ("0.0.0.0", "::")


class JoinAddress(NamedTuple):
    """`url`: as the QR code contains it. `start`: the command that starts the server so that other devices reach it;
    "" if they reach `url`."""

    url: str
    start: str = ""


def join_address(request: HttpRequest, live_class: LiveClass) -> JoinAddress:
    """Return the join address of a class: on the requested host, or if that is a loopback address, on this machine's
    address in its network if the server listens there."""
    url = request.build_absolute_uri(reverse("join-class", args=[live_class.code]))
    host, port = split_domain_port(request.get_host())
    if not env.is_loopback(host.strip("[]")):
        return JoinAddress(url)
    mine = network_address()
    if mine and env.text("HOST") in ALL_ADDRESSES and validate_host(mine, settings.ALLOWED_HOSTS):
        there = f"{mine}:{port}" if port else mine
        return JoinAddress(url.replace(f"//{request.get_host()}/", f"//{there}/", 1))
    hosts = f"localhost,127.0.0.1,{mine or 'ADDRESS'}"
    return JoinAddress(url, f"KUBESCHED_HOST=0.0.0.0 KUBESCHED_ALLOWED_HOSTS={hosts} make run")


def network_address() -> str:
    """Return the address of this machine in its network, "" without one. Nothing is sent: connecting a datagram socket
    only selects the address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation
        except OSError:
            return ""
        found: str = probe.getsockname()[0]
    return "" if env.is_loopback(found) else found
