"""The front of a SuperLink: a web server that passes what SuperNodes ask, and nothing else.

A SuperLink serves three interfaces on one port: Fleet for SuperNodes, Control for `flwr`, Runtime
for its own processes. Only Fleet asks who is calling. So the SuperLink listens on its own machine
alone, and a front with the public address passes the paths of Fleet to it. The same rules as a
configuration of Caddy and of nginx:

    Caddyfile    cd KEYS && caddy run --config Caddyfile
    nginx.conf   nginx -e stderr -p WRITABLE -c KEYS/nginx.conf

Both read the keys beside them (`simulations.deployment.keys`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fedbn.errors import ConfigError

FLEET = "/v1/fleet/"
PATHS = (
    "activate-node",
    "deactivate-node",
    "send-node-heartbeat",
    "pull-messages",
    "push-messages",
    "get-run",
    "get-fab",
    "push-object",
    "pull-object",
    "confirm-message-received",
)
"""What an authenticated SuperNode asks below FLEET. Fleet's register-node and unregister-node are
for SuperLinks that authenticate nobody."""

LISTEN, SUPERLINK = "0.0.0.0:9600", "127.0.0.1:9610"
INSIDE = "localhost"
"""The name in the SuperLink's own certificate that the front asks for."""

MAX_MB = 32
"""Largest request that is passed: Flower cuts arrays into pieces of 5 MB, and a bundle has 10."""


@dataclass(frozen=True)
class Front:
    """What the configuration says.

    Attributes
    ----------
    name : the first name or IP address at which sites reach the front.
    listen : "address:port" of the front.
    superlink : "address:port" of the SuperLink behind it.
    """

    name: str
    listen: str = LISTEN
    superlink: str = SUPERLINK

    def files(self) -> dict[str, bytes]:
        """File name -> content; raises ConfigError where an address is none."""
        return {"Caddyfile": self.caddyfile().encode(), "nginx.conf": self.nginx().encode()}

    def caddyfile(self) -> str:
        """The configuration of Caddy."""
        host, port = address(self.listen)
        behind = ":".join(address(self.superlink))
        return _CADDYFILE.format(
            name=self.name,
            host=host,
            port=port,
            behind=behind,
            inside=INSIDE,
            megabytes=MAX_MB,
            paths=" ".join(f"{FLEET}{path}" for path in PATHS),
        )

    def nginx(self) -> str:
        """The configuration of nginx, whole: it includes no other file."""
        listen, behind = (":".join(address(at)) for at in (self.listen, self.superlink))
        return _NGINX.format(
            listen=listen,
            behind=behind,
            inside=INSIDE,
            megabytes=MAX_MB,
            fleet=FLEET,
            paths="|".join(PATHS),
        )


def address(text: str) -> tuple[str, str]:
    """Host and port of "host:port"; raises ConfigError."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([1-9][0-9]{0,4})", text)
    if found is None or int(found[2]) > 65535:
        raise ConfigError(f"an address must be like 127.0.0.1:9600, not {text!r}")
    return found[1], found[2]


_CADDYFILE = """\
# The front of a federation, written by `fedbn keys`: it passes the paths of Flower's Fleet
# interface, and refuses every other request.
#     cd KEYS && caddy run --config Caddyfile
{{
	admin off
	auto_https off
	persist_config off
	default_sni {name}
	servers {{
		protocols h1
		timeouts {{
			read_header 10s
			read_body 60s
			idle 2m
		}}
	}}
}}

https://:{port} {{
	bind {host}
	tls server.pem server.key
	@fleet {{
		method POST
		path {paths}
	}}
	handle @fleet {{
		request_body {{
			max_size {megabytes}MB
		}}
		reverse_proxy https://{behind} {{
			transport http {{
				tls_trusted_ca_certs ca.pem
				tls_server_name {inside}
			}}
		}}
	}}
	handle {{
		respond 403
	}}
}}
"""

_NGINX = """\
# The front of a federation, written by `fedbn keys`: it passes the paths of Flower's Fleet
# interface, and refuses every other request.
#     nginx -e stderr -p WRITABLE -c KEYS/nginx.conf
daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    server_tokens off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    client_header_timeout 10s;
    client_body_timeout 60s;
    client_max_body_size {megabytes}m;
    upstream superlink {{
        server {behind};
        keepalive 16;
    }}
    server {{
        listen {listen} ssl;
        ssl_certificate server.pem;
        ssl_certificate_key server.key;
        ssl_protocols TLSv1.2 TLSv1.3;
        location / {{
            return 403;
        }}
        location ~ ^{fleet}({paths})$ {{
            limit_except POST {{
                deny all;
            }}
            proxy_pass https://superlink$uri;
            proxy_http_version 1.1;
            proxy_request_buffering off;
            proxy_max_temp_file_size 0;
            proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_ssl_trusted_certificate ca.pem;
            proxy_ssl_verify on;
            proxy_ssl_server_name on;
            proxy_ssl_name {inside};
        }}
    }}
}}
"""
