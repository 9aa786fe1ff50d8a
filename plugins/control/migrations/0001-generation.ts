import { Migration } from '@mikro-orm/migrations'

export class Control0001 extends Migration {
  override up(): void {
    this.addSql(`create table "control_generation" (
      "client_id" varchar(26) not null primary key,
      "salt" varchar(32) not null)`)
  }
}
