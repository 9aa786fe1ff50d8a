import { defineEntity, p } from 'sluice/plugin'

export const Factor = defineEntity({
  name: 'TwoFactor',
  tableName: 'two_factor',
  properties: {
    userId: p.string().length(32).primary(),
    secret: p.string().length(255), // sealed
    isActive: p.boolean(), // the user has proved a code
    lastStep: p.bigint('number'), // of the last code that was used
    recovery: p.json().$type<readonly string[]>() // SHA-256 of unused recovery codes
  }
})
