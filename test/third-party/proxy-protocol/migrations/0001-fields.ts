import { Migration } from 'sluice/plugin'

const rule =
  '"rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade'

export class ProxyProtocol0001 extends Migration {
  override up(): void {
    this.addSql(`create table "proxy_protocol_in" (${rule}, "from" json not null)`)
    this.addSql(`create table "proxy_protocol_out" (${rule})`)
  }
}
