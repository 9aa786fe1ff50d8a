import { call, type Versioned } from '../../api/call.ts'
import { bytes } from '../../format.ts'
import { Form } from '../../parts/form/Form.tsx'
import { FreshRecord } from '../../parts/form/FreshRecord.tsx'
import { SizeField } from '../../parts/form/SizeField.tsx'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
import { text } from '../../text/text.ts'
import { pathOf, type Quota, readQuota } from './quota.ts'

interface Props {
  readonly quota: Quota
  readonly onDone: () => void
}

export const EditQuota = ({ quota, onDone }: Props) => (
  <FreshRecord queryKey={['quota', quota.user_id, quota.client_id]} read={() => readQuota(pathOf(quota))}>
    {opened => <Size opened={opened} onDone={onDone} />}
  </FreshRecord>
)

const fields = {
  monthly_bytes: {
    label: text.quotas.size,
    codes: ['invalid_quota_size'],
    format: (size: number | null) => bytes(size ?? 0)
  }
}

function Size({ opened, onDone }: { readonly opened: Versioned<Quota>; readonly onDone: () => void }) {
  const path = pathOf(opened.value)
  const { field, form, conflict } = useEditForm(opened, {
    fields,
    toValues: ({ monthly_bytes }): { readonly monthly_bytes: number | null } => ({ monthly_bytes }),
    toBody: ({ monthly_bytes }) => ({ monthly_bytes: monthly_bytes ?? 0 }),
    read: () => readQuota(path),
    save: (body, headers) => call('PATCH /v1/users/{user_id}/quotas/{client_id}', { path, body, headers }),
    sends: 'all',
    notice: () => text.quotas.set,
    onDone
  })
  return (
    <Form {...form} submitLabel={text.save} onCancel={onDone}>
      <SizeField {...field('monthly_bytes')} />
      {conflict}
    </Form>
  )
}
