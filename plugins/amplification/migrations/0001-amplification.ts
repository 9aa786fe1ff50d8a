import { Migration } from '@mikro-orm/migrations'

export class Amplification0001 extends Migration {
  override up(): void {
    this.addSql(`create table "amplification" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "ratio" integer not null,
      "proven_after" integer not null)`)
  }
}
