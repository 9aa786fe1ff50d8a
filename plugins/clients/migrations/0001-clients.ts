import { Migration } from '@mikro-orm/migrations'

export class Clients0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "clients_instance_conflict" (
      "client_id" varchar(26) not null primary key,
      "since" bigint not null,
      "seen_at" bigint not null,
      "remote_addrs" ${json} not null)`)
  }
}
