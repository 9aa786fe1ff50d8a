import { RecoveryCode, Totp } from './entities.ts'
import { SecondFactor0001 } from './migrations/0001-second-factor.ts'

export const store = {
  entities: [Totp, RecoveryCode],
  migrations: [{ name: '0001-second-factor', class: SecondFactor0001 }]
}
