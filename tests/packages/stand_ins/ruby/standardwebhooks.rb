# A stand-in for the gem "standardwebhooks", with the names and errors that the receiver uses.
require "base64"
require "json"
require "openssl"

module StandardWebhooks
  class WebhookVerificationError < StandardError; end

  class Webhook
    def initialize(secret)
      @key = Base64.decode64(secret.delete_prefix("whsec_"))
    end

    def verify(body, headers)
      id, sent, signatures = headers.values_at("webhook-id", "webhook-timestamp", "webhook-signature")
      raise WebhookVerificationError, "a header is missing" unless id && sent && signatures
      raise WebhookVerificationError, "too old or too new" if (Time.now.to_i - Integer(sent)).abs > 300

      genuine = "v1," + Base64.strict_encode64(OpenSSL::HMAC.digest("SHA256", @key, "#{id}.#{sent}.#{body}"))
      known = signatures.split.any? { |each| OpenSSL.secure_compare(each, genuine) }
      raise WebhookVerificationError, "no signature matches" unless known

      JSON.parse(body)
    end
  end
end
