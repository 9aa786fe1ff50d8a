import { Migration } from '@mikro-orm/migrations'

export class RateLimit0002 extends Migration {
  override up(): void {
    this.addSql('alter table "rate_limit_envelope" add column "enforced" integer not null default false')
  }
}
