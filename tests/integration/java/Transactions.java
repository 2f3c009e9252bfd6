import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** read: prints the committed records of a topic. write: commits, aborts and leaves open transactions, as Flink's sink does. */
public class Transactions {
    public static void main(String[] arguments) {
        if (arguments[0].equals("read")) {
            read(arguments[1], arguments[2], Integer.parseInt(arguments[3]));
        } else {
            write(arguments[1], arguments[2]);
        }
    }

    private static void read(String bootstrap, String topic, int partitions) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "isolation.level", "read_committed");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            List<TopicPartition> all = new ArrayList<>();
            for (int p = 0; p < partitions; p++) all.add(new TopicPartition(topic, p));
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            while (all.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println(record.partition() + "\t" + record.key() + "\t" + record.value());
                }
            }
        }
    }

    private static void write(String bootstrap, String topic) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", topic + "-0-1");
        settings.put("transaction.timeout.ms", "300000");
        var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        for (int transaction = 0; transaction < 7; transaction++) {
            producer.beginTransaction();
            for (int i = 0; i < 10; i++) {
                producer.send(new ProducerRecord<>(topic, null, "{\"a\": " + (transaction * 10 + i) + "}"));
            }
            producer.flush();
            if (transaction == 6) {
                System.out.flush();
                Runtime.getRuntime().halt(0); // the last one stays open
            }
            if (transaction % 3 == 1) producer.abortTransaction(); else producer.commitTransaction();
        }
    }
}
