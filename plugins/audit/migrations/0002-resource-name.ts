import { Migration } from '@mikro-orm/migrations'

export class Audit0002 extends Migration {
  override up(): void {
    this.addSql('alter table "audit_entry" add column "resource_name" varchar(63) null')
  }
}
