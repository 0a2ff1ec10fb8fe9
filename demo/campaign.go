package demo

// campaign is one text on its way through many accounts.
type campaign struct {
	origin *record // its first post; nil until that is remembered
	left   int     // posts to come
}

// beginCampaign writes the first post of a campaign of 20 to 80.
func (g *Generator) beginCampaign() (body, Truth, string) {
	g.campaign = &campaign{left: 19 + g.rng.IntN(61)}
	return g.fresh(), Truth{Operation: Campaign}, g.account()
}

// continueCampaign writes the next one, one in five with a hashtag.
func (g *Generator) continueCampaign() (body, Truth, string) {
	origin := g.campaign.origin
	g.campaign.left--
	if g.campaign.left == 0 {
		g.campaign = nil
	}
	b := origin.body.clone()
	if g.rng.IntN(5) == 0 {
		b.tag(g.rng)
	}
	return b, Truth{Campaign, allOf(origin)}, g.otherAccount(origin.author)
}
