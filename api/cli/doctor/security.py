"""The security checks."""

import os
import ssl
import stat
import time
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network

from cryptography import x509

from api.cli.doctor.finding import Finding, failure, ok, warning
from engine.settings import PREFIX, Settings
from storage.encryption.key_file import KEY_FILE
from storage.encryption.secretbox import SecretBoxError, parse_keys

EXPIRY_NEAR = timedelta(days=14)
WIDE_IPV4 = 8  # bits: a network wider than 10.0.0.0/8 is probably a mistake
WIDE_IPV6 = 32
# The addresses of the metadata services of clouds. Such a service gives credentials to every program on
# the virtual machine.
METADATA = (
    ip_network("169.254.169.254/32"),
    ip_network("168.63.129.16/32"),
    ip_network("fd00:ec2::254/128"),
    ip_network("100.100.100.200/32"),
)


def check_egress(allowed: tuple[IPv4Network | IPv6Network, ...]) -> list[Finding]:
    """Check the networks that EGRESS_ALLOW lets tenants reach. Return a finding for each network: a
    failure or a warning if tenants can reach more than they should. Without such networks, return one
    finding that all is well."""
    if not allowed:
        return [ok("egress", "receivers must have public addresses")]
    findings = []
    for network in allowed:
        name = str(network)
        wide = WIDE_IPV4 if network.version == 4 else WIDE_IPV6
        if any(network.version == m.version and network.overlaps(m) for m in METADATA):
            findings.append(
                failure(
                    "egress",
                    f"{name} includes a cloud's metadata service, which gives out credentials",
                    f"name smaller networks in {PREFIX}EGRESS_ALLOW",
                )
            )
        elif network.prefixlen < wide:
            findings.append(
                warning(
                    "egress",
                    f"{name} is very wide: every tenant can send requests to any address in it",
                    "name only the networks of your receivers",
                )
            )
        elif network.is_loopback:
            findings.append(
                warning(
                    "egress",
                    f"{name}: tenants can reach every service of this machine",
                    "fine for development; leave it out in production",
                )
            )
        else:
            findings.append(ok("egress", f"{name} is private and allowed"))
    return findings


def check_tls(settings: Settings) -> list[Finding]:
    """Check that the certificate and its key can be read, belong together, and are valid now."""
    if settings.tls_cert is None or settings.tls_key is None:
        return []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key)
        certificate = x509.load_pem_x509_certificate(settings.tls_cert.read_bytes())
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        return [failure("TLS", f"certificate or key cannot be used: {error}", "check both files")]
    now = datetime.fromtimestamp(time.time(), tz=UTC)
    ends = certificate.not_valid_after_utc
    if ends <= now:
        return [failure("TLS", f"the certificate expired on {ends:%Y-%m-%d}", "renew it")]
    if ends - now < EXPIRY_NEAR:
        return [
            warning("TLS", f"the certificate expires on {ends:%Y-%m-%d}", "renew it before that")
        ]
    return [ok("TLS", f"the certificate is valid until {ends:%Y-%m-%d}")]


def check_master_key(settings: Settings) -> Finding:
    """Check that there is a master key, and that other users of this computer cannot read it."""
    key_file = settings.master_key_file or settings.data_dir / KEY_FILE
    if settings.master_key is not None:
        try:
            parse_keys(settings.master_key)
        except SecretBoxError as error:
            return failure("master key", str(error), f"see {PREFIX}MASTER_KEY")
        return ok("master key", f"given by {PREFIX}MASTER_KEY")
    if settings.database_url is not None and settings.master_key_file is None:
        return failure(
            "master key",
            "required with a database of your own",
            f"export {PREFIX}MASTER_KEY=$(openssl rand -base64 32), and keep it: without it the "
            "signing secrets in the database are lost",
        )
    try:
        there = key_file.exists()
    except PermissionError:  # this account cannot read a folder above it
        there = True
    if not there:
        if (settings.data_dir / "postgres").exists():
            return warning(
                "master key",
                f"there is a database and no {key_file}",
                "before the server's first start this is normal; later, restore it from its "
                "backup: the signing secrets are lost without it",
            )
        return ok("master key", f"created at the first start, at {key_file}")
    if not os.access(key_file, os.R_OK):
        return failure(
            "master key", f"{key_file} cannot be read", "run as the account that created it"
        )
    if stat.S_IMODE(key_file.stat().st_mode) & 0o077:
        return warning("master key", f"other accounts can read {key_file}", f"chmod 600 {key_file}")
    return ok("master key", f"{key_file}; back it up separately from the database")
