import { Migration } from '@mikro-orm/migrations'

export class SourceFilter0001 extends Migration {
  override up(): void {
    this.addSql(`create table "source_filter" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "allow" json null,
      "deny" json null)`)
    this.addSql(`create table "source_filter_list" (
      "name" varchar(64) not null primary key,
      "packed" text not null,
      "bytes" integer not null,
      "entry_count" integer not null,
      "updated_at" bigint not null)`)
  }
}
