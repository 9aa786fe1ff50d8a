// Error codes of the routes, for OpenAPI: those of rules, and those of plugins that fill their slots.
import {
  ackTimeout,
  clientNotFound,
  type ErrorCode,
  limitReached,
  notOwner,
  userNotFound
} from '../../../kernel/base/errors.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { clientNameAmbiguous, clientPending, clientRevoked } from '../../clients/exports.ts'
import { portInUse } from '../changes/insert-rules.ts'
import { targetCodes, validationProtocol } from '../changes/parse-draft.ts'
import { activationFailed, bodyEmpty, immutableField, ruleNotFound } from '../codes.ts'
import { requirementCodes } from '../fields/requirements.ts'
import { derivedFieldSlot, fieldUnsupported, ruleFieldSlot } from '../fields/rule-field.ts'
import { targetFieldSlot } from '../fields/target-field.ts'
import { admitSlot, clientNotGranted, portSharingSlot, ruleFollowerSlot, shapeSlot } from '../slots.ts'

export const existingErrors = [ruleNotFound, notOwner]

/** For changes that wait for the client. */
export const waitingErrors = [...existingErrors, ackTimeout, activationFailed, portInUse]

export const createErrors = (filled: SlotReader): ErrorCode[] => [
  ...waitingErrors,
  clientNotFound,
  clientNameAmbiguous,
  clientPending,
  clientRevoked,
  clientNotGranted,
  userNotFound,
  limitReached,
  validationProtocol,
  fieldUnsupported,
  ...targetCodes,
  ...requirementCodes,
  ...slotErrors(filled)
]

export const replaceErrors = (filled: SlotReader): ErrorCode[] => [...createErrors(filled), immutableField]

export const patchErrors = (filled: SlotReader): ErrorCode[] => [...replaceErrors(filled), bodyEmpty]

export const updateErrors = (filled: SlotReader): ErrorCode[] => [
  ...replaceErrors(filled),
  bodyEmpty,
  ...filled(ruleFieldSlot).flatMap(({ value }) => ('updateEmpty' in value ? (value.updateEmpty ?? []) : []))
]

function slotErrors(filled: SlotReader): ErrorCode[] {
  const fields = [...filled(ruleFieldSlot), ...filled(targetFieldSlot)]
  const required = [...fields, ...filled(derivedFieldSlot), ...filled(shapeSlot)]
  const declared = [
    ...fields,
    ...filled(shapeSlot).filter(({ value }) => value.validate),
    ...filled(portSharingSlot),
    ...filled(admitSlot),
    ...filled(ruleFollowerSlot)
  ]
  return [
    ...required.flatMap(({ value }) => ('requires' in value && value.requires ? value.requires.refusal : [])),
    ...declared.flatMap(({ value, codes }) => value.errors ?? codes ?? [])
  ]
}
