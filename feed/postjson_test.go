package feed

import "testing"

// sampleLine has the size and the fields of a usual line of a file.
const sampleLine = `{"id":"ira-0000002","author":"iris0_o","created_at":"2012-02-02T00:58:00Z","lang":"ru","text":"\"Локомотив\" и \"Зенит\" так и не договорились по Глушакову: Двукратный чемпион http://t.co/hShqlLtv","kind":"post"}`

const plainLine = `{"id":"ira-0000003","author":"iris0_o","created_at":"2012-02-02T15:40:00Z","lang":"en","text":"Locomotive agreed with nobody about anything at all, said the trainer who had been asked what he thought of the champion http://t.co/hShqlLtv"}`

func BenchmarkDecodePost(b *testing.B) {
	for name, line := range map[string]string{"escaped": sampleLine, "plain": plainLine} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(line)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := DecodePost(raw, nil)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
