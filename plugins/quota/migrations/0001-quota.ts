import { Migration } from '@mikro-orm/migrations'

export class Quota0001 extends Migration {
  override up(): void {
    this.addSql(`create table "quota" (
      "user_id" varchar(32) not null,
      "client_id" varchar(26) not null,
      "monthly_bytes" bigint not null,
      "anchor" bigint not null,
      "period_start" bigint not null,
      "used" bigint not null,
      "credit" bigint not null,
      "exhausted_at" bigint null,
      "hold_secs" int not null,
      "created_at" bigint not null,
      "updated_at" bigint not null,
      "level_notified" int null,
      "enforced" integer not null default false,
      "instance_id" varchar(64) null,
      primary key ("user_id", "client_id"))`)
    this.addSql('create index "quota_client_id_index" on "quota" ("client_id")')
  }
}
