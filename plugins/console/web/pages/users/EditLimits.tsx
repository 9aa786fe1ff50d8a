import { Group, SimpleGrid, Text } from '@mantine/core'
import { call, type Versioned } from '../../api/call.ts'
import { ConfirmButton } from '../../parts/dialog/ConfirmButton.tsx'
import { Form } from '../../parts/form/Form.tsx'
import type { ControlProps, Fields } from '../../parts/form/fields.ts'
import { NumberField } from '../../parts/form/NumberField.tsx'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
import { QuantityInput, quantityUnit } from '../../parts/schema-form/inputs.tsx'
import { text } from '../../text/text.ts'
import { type Envelope, limitNames, readLimits, toLimits, toValues, type Values } from './limits.ts'

interface Props {
  readonly opened: Versioned<Envelope> | null
  readonly user: string
  readonly client_id: string
  readonly name: string // of the client
  readonly onDone?: (() => void) | undefined
}

const none = {
  value: { client_id: '', owner_id: '', rate_limit: {}, enforced: false, updated_at: '' },
  etag: ''
}

const fields = Object.fromEntries(
  limitNames.map(name => [name, { label: text.fields[name] ?? name }])
) as Fields<Values>

export function EditLimits({ opened, user, client_id, name, onDone }: Props) {
  const path = { client_id, owner_id: user }
  const { field, form, conflict } = useEditForm(opened ?? none, {
    fields,
    toValues: ({ rate_limit }) => toValues(rate_limit),
    toBody: toLimits,
    read: async () => (await readLimits(client_id, user)) ?? none,
    save: (body, headers) =>
      call('PUT /v1/clients/{client_id}/owners/{owner_id}/rate-limit', {
        path,
        body,
        headers: headers['if-match'] === '' ? { 'if-none-match': '*' } : headers
      }),
    sends: 'all',
    notice: () => text.saved,
    ...(onDone && { onDone })
  })
  return (
    <>
      <Form {...form} submitLabel={text.save}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {limitNames.map(limit => (
            <LimitInput key={limit} {...field(limit)} name={limit} />
          ))}
        </SimpleGrid>
        {conflict}
      </Form>
      {opened && (
        <Group>
          <ConfirmButton
            button={{ size: 'xs' }}
            title={text.limits.removeTitle(user, name)}
            action={text.limits.remove}
            run={() => call('DELETE /v1/clients/{client_id}/owners/{owner_id}/rate-limit', { path })}
            notice={text.limits.removed}
            {...(onDone && { onDone })}
          >
            <Text>{text.limits.removeText}</Text>
          </ConfirmButton>
        </Group>
      )}
    </>
  )
}

interface LimitProps extends ControlProps<number | string> {
  readonly name: (typeof limitNames)[number]
}

/** A rate or a size with its unit, or a number. */
function LimitInput({ onChange, ...shown }: LimitProps) {
  const unit = quantityUnit(shown.name)
  return unit === null ? (
    <NumberField {...shown} onChange={onChange} />
  ) : (
    <QuantityInput
      {...shown}
      unit={unit}
      onChange={value => onChange(value ?? '')}
      example={unit === 'B' ? 1_000_000 : 50_000_000}
    />
  )
}
