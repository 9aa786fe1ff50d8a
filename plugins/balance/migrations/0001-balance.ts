import { Migration } from '@mikro-orm/migrations'

export class Balance0001 extends Migration {
  override up(): void {
    this.addSql(`create table "balance" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "algorithm" varchar(17) not null)`)
  }
}
