import { Migration } from '@mikro-orm/migrations'

export class Traffic0001 extends Migration {
  override up(): void {
    this.addSql(`create table "traffic_series" (
      "id" integer not null primary key autoincrement,
      "user_id" varchar(32) not null,
      "client_id" varchar(26) not null)`)
    this.addSql(
      `create unique index "traffic_series_user_id_client_id_unique" on "traffic_series" ("user_id", "client_id")`
    )
    this.addSql(`create table "traffic_sample" (
      "series" integer not null,
      "span_secs" integer not null,
      "ts" integer not null,
      "bytes_in" bigint not null,
      "bytes_out" bigint not null,
      primary key ("series", "span_secs", "ts")) without rowid`)
  }
}
