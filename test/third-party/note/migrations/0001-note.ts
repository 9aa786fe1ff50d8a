import { Migration } from '@mikro-orm/migrations'

export class Note0001 extends Migration {
  override up(): void {
    this.addSql(`create table "note_idle" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "secs" int not null)`)
  }
}
