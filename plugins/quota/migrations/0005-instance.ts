import { Migration } from '@mikro-orm/migrations'

export class Quota0005 extends Migration {
  override up(): void {
    this.addSql('alter table "quota" add column "instance_id" varchar(64) null')
  }
}
