import { Migration } from 'sluice/plugin'

export class Webhooks0001 extends Migration {
  override up(): void {
    this.addSql(`create table "webhooks_delivery" (
      "id" varchar(26) not null primary key,
      "endpoint" varchar(32) not null,
      "event" varchar(32) not null,
      "body" text not null,
      "attempts" int not null,
      "next_at" bigint not null,
      "error" varchar(255) null,
      "created_at" bigint not null,
      "dead_at" bigint null)`)
    this.addSql(`create index "webhooks_delivery_endpoint_dead_at_id_index"
      on "webhooks_delivery" ("endpoint", "dead_at", "id")`)
  }
}
