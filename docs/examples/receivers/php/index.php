<?php
// A receiver of webhooks: WEBHOOK_SECRET=whsec_... php -S 127.0.0.1:9000 index.php

require __DIR__ . '/vendor/autoload.php';

ini_set('display_errors', '0'); // a warning that is printed would make every answer a 200

use StandardWebhooks\Exception\WebhookVerificationException;
use StandardWebhooks\Webhook;

const MAX_BODY = 1 << 20; // bytes

function status(): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST' || $_SERVER['REQUEST_URI'] !== '/hooks') {
        return 404;
    }
    $body = file_get_contents('php://input', length: MAX_BODY + 1);
    if (strlen($body) > MAX_BODY) {
        return 413;
    }
    $headers = array_change_key_case(getallheaders());
    try {
        (new Webhook(getenv('WEBHOOK_SECRET')))->verify($body, $headers);
    } catch (WebhookVerificationException) {
        return 401;
    }
    // A worker of its own reads the table and handles the events after their requests have been answered.
    $table = new PDO('sqlite:' . __DIR__ . '/inbox.db');
    $table->exec('CREATE TABLE IF NOT EXISTS inbox (id TEXT PRIMARY KEY, body TEXT, handled INTEGER DEFAULT 0)');
    $put = $table->prepare('INSERT INTO inbox (id, body) VALUES (?, ?) ON CONFLICT (id) DO NOTHING');
    $put->execute([$headers['webhook-id'], $body]);
    error_log(($put->rowCount() ? 'kept ' : 'seen before ') . $headers['webhook-id']);
    return 204;
}

http_response_code(status());
