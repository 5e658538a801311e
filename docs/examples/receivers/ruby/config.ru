# A receiver of webhooks:
#   gem install standardwebhooks puma rack
#   WEBHOOK_SECRET=whsec_... puma --bind tcp://127.0.0.1:9000
gem "standardwebhooks", "~> 1.0"
require "standardwebhooks"

MAX_BODY = 1 << 20 # bytes
WEBHOOK = StandardWebhooks::Webhook.new(ENV.fetch("WEBHOOK_SECRET"))
# These stand for a table with a unique key: INSERT ... ON CONFLICT (id) DO NOTHING.
SEEN = {}
INBOX = SizedQueue.new(1000)
LOCK = Mutex.new

# Events are handled after their requests have been answered.
Thread.new { loop { puts "handled #{INBOX.pop["type"]}" } }

# Keeps an event that is new. Returns false if there is no room: Angarium tries again.
def put(id, event)
  LOCK.synchronize do
    if SEEN.key?(id)
      puts "seen before #{id}"
    else
      INBOX.push(event, true)
      SEEN[id] = true
    end
  end
  true
rescue ThreadError
  false
end

def status(request)
  return 404 unless request.post? && request.path == "/hooks"

  body = request.body.read(MAX_BODY + 1).to_s
  return 413 if body.bytesize > MAX_BODY

  names = %w[webhook-id webhook-timestamp webhook-signature]
  headers = names.to_h { |name| [name, request.get_header("HTTP_#{name.upcase.tr("-", "_")}")] }
  event = WEBHOOK.verify(body, headers)
  put(headers["webhook-id"], event) ? 204 : 503
rescue StandardWebhooks::WebhookVerificationError
  401
end

run ->(env) { [status(Rack::Request.new(env)), {}, []] }
