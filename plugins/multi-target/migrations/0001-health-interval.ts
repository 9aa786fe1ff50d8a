import { Migration } from '@mikro-orm/migrations'

export class MultiTarget0001 extends Migration {
  override up(): void {
    this.addSql(`create table "multi_target_health_intervals" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "secs" int not null)`)
  }
}
