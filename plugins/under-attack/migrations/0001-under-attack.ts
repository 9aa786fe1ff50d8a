import { Migration } from '@mikro-orm/migrations'

export class UnderAttack0001 extends Migration {
  override up(): void {
    this.addSql(`create table "under_attack" (
      "client_id" varchar(26) not null primary key,
      "reason" varchar(256) null,
      "made_by" varchar(32) not null,
      "from_ms" bigint not null,
      "until_ms" bigint not null,
      "connections" integer not null,
      "new_connections" integer not null,
      "within_secs" integer not null)`)
  }
}
