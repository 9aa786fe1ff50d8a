import { Migration } from '@mikro-orm/migrations'

export class Kernel0002 extends Migration {
  override up(): void {
    this.addSql('alter table "kernel_client" add column "changed" bigint not null default 0')
    this.addSql('create index "kernel_client_changed_index" on "kernel_client" ("changed")')
  }
}
