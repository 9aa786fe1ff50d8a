import { Migration } from 'sluice/plugin'

export class Notifier0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "notifier_choice" ("user_id" varchar(32) not null primary key,
      "kinds" ${json} not null, "url" varchar(2000) not null, "tries" integer not null,
      "next_at" bigint null, "last_result" varchar(32) null)`)
    this.addSql(`create index "notifier_choice_next_at" on "notifier_choice" ("next_at")`)
    this.addSql(`create table "notifier_note" ("id" varchar(26) not null primary key,
      "user_id" varchar(32) not null, "content" ${json} not null, "created_at" bigint not null)`)
    this.addSql(`create index "notifier_note_user" on "notifier_note" ("user_id", "id")`)
    this.addSql(`create table "notifier_client" ("id" varchar(26) not null primary key,
      "is_offline" boolean not null)`)
  }
}
