<?php
// A stand-in for the library standard-webhooks/standard-webhooks, with the names and errors that the receiver
// uses. Like the library, it causes a warning where a signature has no comma.

namespace StandardWebhooks\Exception {
    class WebhookVerificationException extends \Exception
    {
    }
}

namespace StandardWebhooks {
    class Webhook
    {
        private string $key;

        public function __construct(string $secret)
        {
            $this->key = base64_decode(preg_replace('/^whsec_/', '', $secret));
        }

        public function verify(string $body, array $headers): mixed
        {
            foreach (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as $name) {
                if (!isset($headers[$name])) {
                    throw new Exception\WebhookVerificationException("$name is missing");
                }
            }
            [$id, $sent] = [$headers['webhook-id'], (int) $headers['webhook-timestamp']];
            if (abs(time() - $sent) > 300) {
                throw new Exception\WebhookVerificationException('too old or too new');
            }
            $genuine = base64_encode(hash_hmac('sha256', "$id.$sent.$body", $this->key, true));
            foreach (explode(' ', $headers['webhook-signature']) as $each) {
                $parts = explode(',', $each, 2);
                $given = $parts[1];
                if ($parts[0] === 'v1' && hash_equals($genuine, $given)) {
                    return json_decode($body, true);
                }
            }
            throw new Exception\WebhookVerificationException('no signature matches');
        }
    }
}
