import { Migration } from '@mikro-orm/migrations'

export class ProxyProtocol0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "proxy_protocol" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "senders" ${json} null,
      "version" integer null,
      "datagrams" varchar(5) null)`)
  }
}
