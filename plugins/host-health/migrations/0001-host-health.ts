import { Migration } from '@mikro-orm/migrations'

export class HostHealth0001 extends Migration {
  override up(): void {
    this.addSql(`create table "host_health_sample" (
      "client_id" varchar(26) not null,
      "at" integer not null,
      "cpu_percent" double precision not null,
      "memory_used_bytes" bigint not null,
      "memory_total_bytes" bigint not null,
      "open_descriptors" bigint null,
      "rtt_ms" double precision null,
      primary key ("client_id", "at"))`)
    this.addSql('create index "host_health_sample_at_index" on "host_health_sample" ("at")')
  }
}
