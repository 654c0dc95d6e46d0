"""Sends mail to customers."""

import smtplib
from email.message import EmailMessage


class Mailer:
    """Sends messages through one SMTP server."""

    def __init__(self, host: str, port: int = 25):
        self.host = host
        self.port = port

    def send_receipt(self, address: str, order: dict) -> None:
        """Mails the receipt of an order."""
        message = EmailMessage()
        message["To"] = address
        message["Subject"] = f"Your order {order['id']}"
        message.set_content(render_receipt(order))
        with smtplib.SMTP(self.host, self.port) as server:
            server.send_message(message)


def render_receipt(order: dict) -> str:
    """The text of a receipt: one line a product, the total last."""
    lines = [f"{item['name']}: {item['price']}" for item in order["items"]]
    return "\n".join(lines + [f"total: {order['total']}"])
