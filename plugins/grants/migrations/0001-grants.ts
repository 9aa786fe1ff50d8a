import { Migration } from '@mikro-orm/migrations'

export class Grants0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "grants" (
      "id" varchar(26) not null primary key,
      "user_id" varchar(32) not null,
      "client_id" varchar(26) null,
      "port_from" int not null,
      "port_to" int not null,
      "protocols" ${json} not null,
      "targets" ${json} null,
      "note" varchar(255) null,
      "created_at" bigint not null)`)
    this.addSql('create index "grants_user_id_index" on "grants" ("user_id")')
    this.addSql('create index "grants_client_id_index" on "grants" ("client_id")')
  }
}
