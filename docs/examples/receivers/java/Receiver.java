// A receiver of webhooks:
//   mvn -q dependency:copy-dependencies
//   WEBHOOK_SECRET=whsec_... PORT=9000 java -cp 'target/dependency/*' Receiver.java
import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;

public class Receiver {
    static final int MAX_BODY = 1 << 20; // bytes
    static final Webhook WEBHOOK = new Webhook(System.getenv("WEBHOOK_SECRET"));
    // These stand for a table with a unique key: INSERT ... ON CONFLICT (id) DO NOTHING.
    static final Set<String> SEEN = new HashSet<>();
    static final BlockingQueue<String> INBOX = new ArrayBlockingQueue<>(1000);

    public static void main(String[] arguments) throws IOException {
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/hooks", Receiver::answer);
        server.start();
        new Thread(Receiver::work).start();
        System.out.println("Listening on " + port);
    }

    static void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            exchange.sendResponseHeaders(status(exchange), -1);
        }
    }

    static int status(HttpExchange exchange) throws IOException {
        if (!exchange.getRequestMethod().equals("POST")) return 405;
        byte[] bytes = exchange.getRequestBody().readNBytes(MAX_BODY + 1);
        if (bytes.length > MAX_BODY) return 413;
        String body = new String(bytes, StandardCharsets.UTF_8);
        try {
            WEBHOOK.verify(body, exchange.getRequestHeaders());
        } catch (WebhookVerificationException error) {
            return 401;
        }
        return put(exchange.getRequestHeaders().getFirst("webhook-id"), body) ? 204 : 503;
    }

    /** Keeps an event that is new. Returns false if there is no room: Angarium tries again. */
    static synchronized boolean put(String id, String body) {
        if (SEEN.contains(id)) {
            System.out.println("seen before " + id);
            return true;
        }
        return INBOX.offer(body) && SEEN.add(id);
    }

    /** Handles events after their requests have been answered. */
    static void work() {
        try {
            while (true) System.out.println("handled " + INBOX.take());
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
