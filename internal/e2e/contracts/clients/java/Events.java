import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.provider.EventFormatProvider;
import io.cloudevents.http.HttpMessageFactory;
import io.cloudevents.jackson.JsonFormat;
import io.cloudevents.kafka.KafkaMessageFactory;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Reads messages from stdin, each a line of JSON, as the official SDK of CloudEvents reads them from a binding, and writes each
 * event in them as a line: Events http|kafka|nats.
 */
public class Events {
  static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    var format = EventFormatProvider.getInstance().resolveFormat(JsonFormat.CONTENT_TYPE);
    var out = new PrintStream(System.out, true, UTF_8);
    var in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      for (CloudEvent event : read(args[0], JSON.readTree(line))) {
        out.println(new String(format.serialize(event), UTF_8));
      }
    }
  }

  static List<CloudEvent> read(String binding, JsonNode message) throws Exception {
    Map<String, String> headers = new HashMap<>();
    message.get("headers").fields().forEachRemaining(h -> headers.put(h.getKey(), h.getValue().asText()));
    byte[] body = message.get("body").asText().getBytes(UTF_8);
    switch (binding) {
      case "kafka":
        var records = new RecordHeaders();
        headers.forEach((name, value) -> records.add(name, value.getBytes(UTF_8)));
        return List.of(KafkaMessageFactory.createReader(records, body).toEvent());
      case "nats": // the SDK has no binding for NATS
        return List.of(parse(body));
      default:
        if (headers.get("content-type").equals("application/cloudevents-batch+json")) {
          List<CloudEvent> all = new ArrayList<>(); // the SDK reads the events of a batch, and not the batch
          for (JsonNode event : JSON.readTree(body)) all.add(parse(JSON.writeValueAsBytes(event)));
          return all;
        }
        return List.of(HttpMessageFactory.createReader(headers, body).toEvent());
    }
  }

  static CloudEvent parse(byte[] event) {
    return EventFormatProvider.getInstance().resolveFormat(JsonFormat.CONTENT_TYPE).deserialize(event);
  }
}
