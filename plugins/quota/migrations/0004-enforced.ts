import { Migration } from '@mikro-orm/migrations'

export class Quota0004 extends Migration {
  override up(): void {
    this.addSql('alter table "quota" add column "enforced" integer not null default false')
  }
}
