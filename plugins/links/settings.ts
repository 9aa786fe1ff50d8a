import { Type } from 'typebox'

export const keys = Type.Object({
  link_key_days: Type.Integer({
    minimum: 0,
    maximum: 3650,
    default: 90,
    hot: true,
    description: 'Age at which an agent makes its next link key; 0: never.'
  }),
  link_lease_hours: Type.Integer({
    minimum: 0,
    maximum: 720,
    default: 0,
    description: 'How long an agent keeps its links without the server; 0: no limit.'
  }),
  link_max_idle: Type.Integer({
    minimum: 2,
    maximum: 64,
    default: 64,
    description: 'Most ready connections of a link.'
  }),
  link_dead_secs: Type.Integer({
    minimum: 10,
    maximum: 3600,
    default: 60,
    description: 'How long a live connection waits for a link that is down.'
  }),
  max_links_per_client: Type.Integer({
    minimum: 1,
    maximum: 4096,
    default: 1024,
    hot: true,
    description: 'Links of one client that rules need.'
  })
})
