import { Migration } from '@mikro-orm/migrations'

export class AdvertisedEndpoint0001 extends Migration {
  override up(): void {
    this.addSql(`create table "advertised_endpoint" (
      "id" varchar(8) not null primary key,
      "endpoint" varchar(255) not null,
      "updated_at" bigint not null)`)
  }
}
