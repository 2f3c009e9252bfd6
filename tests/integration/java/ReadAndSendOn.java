// Prints every record of a topic, sends it on by Java's producer without naming a partition, and prints where that went.
// A line a record: partition, offset, timestamp, timestamp type, key, value, headers, partition chosen by Java.

import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class ReadAndSendOn {
    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], topic = arguments[1], onward = arguments[2];
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "isolation.level", "read_committed");
        var bytes = new ByteArraySerializer();
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
                var producer = new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", bootstrap), bytes, bytes)) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(p -> partitions.add(new TopicPartition(topic, p.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(5))) {
                    var sent = producer.send(new ProducerRecord<>(onward, record.key(), record.value()));
                    System.out.println(line(record) + "\t" + sent.get().partition());
                }
            }
        }
    }

    static String line(ConsumerRecord<byte[], byte[]> record) {
        List<String> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(header.key() + "=" + hex(header.value()));
        }
        return String.join("\t", "" + record.partition(), "" + record.offset(), "" + record.timestamp(),
                record.timestampType().toString(), hex(record.key()), hex(record.value()), String.join(",", headers));
    }

    static String hex(byte[] bytes) {
        return bytes == null ? "null" : "x" + HexFormat.of().formatHex(bytes);
    }
}
