import { Migration } from '@mikro-orm/migrations'

export class Labels0001 extends Migration {
  override up(): void {
    this.addSql(`create table "labels" (
      "kind" varchar(8) not null,
      "record_id" varchar(32) not null,
      "key" varchar(317) not null,
      "value" varchar(63) not null,
      "set_at" bigint not null,
      primary key ("kind", "record_id", "key"))`)
    this.addSql('create index "labels_value_index" on "labels" ("kind", "key", "value", "record_id")')
  }
}
