import { Migration } from '@mikro-orm/migrations'

export class Journal0001 extends Migration {
  override up(): void {
    this.addSql(`create table "journal_entry" (
      "id" varchar(26) not null primary key,
      "subject" varchar(60) not null,
      "ts" bigint not null,
      "kind" varchar(16) not null,
      "from_value" text not null,
      "to_value" text not null,
      "cause" varchar(64) null,
      "request_id" varchar(64) null,
      "details" text not null)`)
    this.addSql('create index "journal_entry_subject_ts_id_index" on "journal_entry" ("subject", "ts", "id")')
    this.addSql('create index "journal_entry_ts_index" on "journal_entry" ("ts")')
  }
}
