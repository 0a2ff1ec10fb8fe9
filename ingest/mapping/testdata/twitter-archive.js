window.YTD.tweets.part0 = [
  {
    "tweet" : {
      "retweeted" : false,
      "source" : "<a href=\"https://mobile.twitter.com\" rel=\"nofollow\">Twitter Web App</a>",
      "id_str" : "1626922779105759235",
      "created_at" : "Sat Feb 18 12:33:11 +0000 2023",
      "favorite_count" : "3",
      "full_text" : "The ferry to Roshaven\nleaves at noon &amp; waits for nobody",
      "lang" : "en"
    }
  },
  {
    "id_str" : "210462857140252672",
    "created_at" : "Wed Jun 06 20:07:10 +0000 2012",
    "text" : "Older archives have no wrapper",
    "user" : { "screen_name" : "noor_holak" }
  }
]
