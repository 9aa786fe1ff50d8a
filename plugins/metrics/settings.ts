import { Type } from 'typebox'
import { Listen } from '../../kernel/settings.ts'

export const keys = Type.Object({
  metrics_listen: Listen('127.0.0.1:7081', 'Address of /metrics, which needs no credential.')
})
